/** Chance, passed in so that tests can replay it. */
export interface Random {
  /** Fills `bytes` with random bytes. */
  fill(bytes: Uint8Array): void;
}
