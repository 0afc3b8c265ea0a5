import "./prompt-area.css";

import { createContext, useContext, useId, type Ref, type TextareaHTMLAttributes } from "react";

import { useProject } from "@/hooks/use-project";
import { includeHref, includesIn, piecesOf, type Piece } from "@/lib/template";

import { Link } from "./link";

type AreaProps = TextareaHTMLAttributes<HTMLTextAreaElement> & { value: string; ref?: Ref<HTMLTextAreaElement> };

/** Names of the variables that are declared; others are marked as not. Null: nobody knows. */
export const DeclaredContext = createContext<ReadonlySet<string> | null>(null);

/** A text field that grows with its text and marks {{variables}}: the marks lie behind the real field. */
export function PromptArea({ value, className = "", ...rest }: AreaProps) {
  const id = useId();
  return (
    <div className={`area ${className}`}>
      <div className="area-marks" aria-hidden="true">
        {piecesOf(value).map((piece, index) => (
          <Marked key={index} piece={piece} />
        ))}
        {"\u200b"}
      </div>
      <textarea id={id} value={value} rows={1} spellCheck={false} {...rest} />
    </div>
  );
}

function Marked({ piece }: { piece: Piece }) {
  const declared = useContext(DeclaredContext);
  if (piece.include) return <mark className="mark-include">{piece.text}</mark>;
  if (piece.variable === null) return piece.text;
  const unknown = declared !== null && !declared.has(piece.variable);
  return (
    <mark className={unknown ? "mark-unknown" : undefined} title={unknown ? `${piece.variable} is not declared` : undefined}>
      {piece.text}
    </mark>
  );
}

/** The prompts that a text includes, as links: a mark behind a field cannot be clicked. */
export function Includes({ text }: { text: string }) {
  const { slug } = useProject();
  const found = includesIn(text);
  if (found.length === 0) return null;
  return (
    <p className="includes">
      Includes
      {found.map((include) => (
        <Link key={`${include.name}@${include.at}`} className="mono" href={includeHref(slug, include)}>
          {include.name}
          {include.at !== null && `@${include.at}`}
        </Link>
      ))}
    </p>
  );
}

/** A prompt's text that is only read. */
export function PromptText({ text }: { text: string }) {
  const { slug } = useProject();
  return (
    <p className="prompt-text">
      {piecesOf(text).map((piece, index) =>
        piece.include ? (
          <Link key={index} className="mark-include" href={includeHref(slug, piece.include)}>
            {piece.text}
          </Link>
        ) : (
          <Marked key={index} piece={piece} />
        ),
      )}
    </p>
  );
}
