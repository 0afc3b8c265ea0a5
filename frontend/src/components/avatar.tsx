import "./avatar.css";

/** A person's initials in their colour; whoever shows it says the name beside it. */
export function Avatar({ name, color, small = false }: { name: string; color: string; small?: boolean }) {
  return (
    <span className="avatar" data-small={small || undefined} style={{ background: color }} aria-hidden="true">
      {initialsOf(name)}
    </span>
  );
}

function initialsOf(name: string): string {
  const words = name.split(/[\s@._-]+/).filter(Boolean);
  const picked = words.length > 1 ? [words[0], words[1]] : [words[0] ?? "?"];
  return picked.map((word) => [...(word ?? "")][0] ?? "").join("").toUpperCase();
}
