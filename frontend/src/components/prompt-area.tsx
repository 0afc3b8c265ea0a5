import "./prompt-area.css";

import { useId, type Ref, type TextareaHTMLAttributes } from "react";

import { piecesOf } from "@/lib/template";

type AreaProps = TextareaHTMLAttributes<HTMLTextAreaElement> & { value: string; ref?: Ref<HTMLTextAreaElement> };

/** A text field that grows with its text and marks {{variables}}: the marks lie behind the real field. */
export function PromptArea({ value, className = "", ...rest }: AreaProps) {
  const id = useId();
  return (
    <div className={`area ${className}`}>
      <div className="area-marks" aria-hidden="true">
        {piecesOf(value).map((piece, index) => (piece.variable === null ? piece.text : <mark key={index}>{piece.text}</mark>))}
        {"\u200b"}
      </div>
      <textarea id={id} value={value} rows={1} spellCheck={false} {...rest} />
    </div>
  );
}

/** A prompt's text that is only read. */
export function PromptText({ text }: { text: string }) {
  return (
    <p className="prompt-text">
      {piecesOf(text).map((piece, index) => (piece.variable === null ? piece.text : <mark key={index}>{piece.text}</mark>))}
    </p>
  );
}
