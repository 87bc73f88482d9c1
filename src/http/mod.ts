/**
 * HTTP for a Tidemark store, on any runtime that speaks `fetch`.
 * @module
 */
export type { Access, Grant, Right } from "./access.ts";
export { createApp, type HttpApp, type HttpAppOptions } from "./app.ts";
export { PrometheusMetrics, type PrometheusMetricsOptions } from "./metrics.ts";
export { TokenTable, type TokenTableOptions } from "./token_table.ts";
