/**
 * HTTP for a Tidemark store, on any runtime that speaks `fetch`.
 * @module
 */
export { createApp, type HttpApp, type HttpAppOptions } from "./app.ts";
export { PrometheusMetrics, type PrometheusMetricsOptions } from "./metrics.ts";
