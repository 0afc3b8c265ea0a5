/** The same model has the same colour everywhere. */
export function modelColor(model: string): string {
  let hash = 0x811c9dc5; // FNV-1a
  for (const char of model) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193) >>> 0;
  return `var(--chart-${(hash % 8) + 1})`;
}

const TYPES = new Set(["generation", "tool", "retriever", "agent"]);

export function typeColor(type: string): string {
  const name = type.toLowerCase();
  return `var(--type-${TYPES.has(name) ? name : "span"})`;
}
