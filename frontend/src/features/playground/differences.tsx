import { useMemo } from "react";

import { diffWords } from "@/lib/diff";

/** What differs from the first column's answer. */
export default function Differences({ before, after }: { before: string; after: string }) {
  const changes = useMemo(() => diffWords(before, after), [before, after]);
  return (
    <p className="turn-plain answer-diff">
      {changes.map(({ kind, text }, index) => (kind === "add" ? <ins key={index}>{text}</ins> : kind === "del" ? <del key={index}>{text}</del> : <span key={index}>{text}</span>))}
    </p>
  );
}
