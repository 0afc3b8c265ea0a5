/** What one may set of a model, with its limits and what it means. */

export const PARAMETERS = [
  { name: "temperature", hint: "0 is certain, 1 as trained", step: 0.1, min: 0, max: 2 },
  { name: "max_tokens", hint: "Longest answer", step: 1, min: 1 },
  { name: "top_p", hint: "Share of probability kept", step: 0.05, min: 0, max: 1 },
  { name: "top_k", hint: "Likeliest tokens kept", step: 1, min: 0 },
  { name: "min_p", hint: "Least share of the best", step: 0.01, min: 0, max: 1 },
  { name: "repetition_penalty", hint: "Above 1 repeats less", step: 0.05, min: 0 },
  { name: "presence_penalty", hint: "", step: 0.1, min: -2, max: 2 },
  { name: "frequency_penalty", hint: "", step: 0.1, min: -2, max: 2 },
  { name: "seed", hint: "The same answer again", step: 1, min: 0 },
] as const;

/** The longest answer where nothing else is said: a small model may go on for ever. */
export const MOST_TOKENS = 1024;

/** The longest answer that a prompt's config asks for. */
export function limitIn(config: Record<string, unknown>): number | null {
  const found = config.max_completion_tokens ?? config.max_tokens;
  return typeof found === "number" ? found : null;
}

/** Twice what came, where it is known how much that was: for an answer that was cut. */
export const raisedLimit = (tokens: number): number => (tokens > 0 ? tokens : MOST_TOKENS) * 2;
