/** The system's theme, or a chosen one. `theme.js` reads the same key before the first paint. */

export type Theme = "system" | "light" | "dark";

export function currentTheme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

export function setTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === "system") localStorage.removeItem("hone.theme");
    else localStorage.setItem("hone.theme", theme);
  } catch {
    // Holds until the page is left.
  }
}
