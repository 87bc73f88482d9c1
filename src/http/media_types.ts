/** Media types of changes and states. @module */

/** A state: bytes that mean something to the pipeline alone. */
export const BYTES = "application/octet-stream";
/** JSON. */
export const JSON_TYPE = "application/json";
/** A CBOR sequence (RFC 8742) of `[keyGroup, bytes]`. */
export const CBOR_SEQUENCE = "application/cbor-seq";
/** A CBOR array of `[keyGroup, bytes]`. */
export const CBOR_ARRAY = "application/cbor";
/** Lines of `{"keyGroup":n,"data":"text"}` or `{"keyGroup":n,"base64":"…"}`. */
export const NDJSON = "application/x-ndjson";
