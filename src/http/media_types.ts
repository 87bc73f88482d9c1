/** Media types of changes, states and answers. @module */

/** A state: bytes that mean something to the pipeline alone. */
export const BYTES = "application/octet-stream";
/** JSON. */
export const JSON_TYPE = "application/json";
/** An error (RFC 9457). */
export const PROBLEM_TYPE = "application/problem+json";
/** A CBOR sequence (RFC 8742) of `[keyGroup, bytes]`. */
export const CBOR_SEQUENCE = "application/cbor-seq";
/** One item of CBOR: an array of `[keyGroup, bytes]`, or an answer as JSON would have it. */
export const CBOR = "application/cbor";
/** Lines of `{"keyGroup":n,"data":"text"}` or `{"keyGroup":n,"base64":"…"}`. */
export const NDJSON = "application/x-ndjson";
/** A job's archive. */
export const TAR = "application/x-tar";
/** A page. */
export const HTML = "text/html";
