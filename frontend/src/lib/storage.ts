/** Small preferences that outlive a visit; a browser without storage just forgets them. */

export function recall<T>(key: string, fallback: T): T {
  try {
    const text = localStorage.getItem(`hone.${key}`);
    return text === null ? fallback : (JSON.parse(text) as T);
  } catch {
    return fallback;
  }
}

export function remember(key: string, value: unknown): void {
  try {
    localStorage.setItem(`hone.${key}`, JSON.stringify(value));
  } catch {
    // Nothing is lost but the preference.
  }
}
