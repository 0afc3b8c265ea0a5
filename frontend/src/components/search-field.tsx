import "./search-field.css";

import { Search, X } from "lucide-react";
import { useRef } from "react";

import { useHotkey } from "@/hooks/use-hotkey";

import { IconButton } from "./button";
import { Keys } from "./keys";

interface SearchFieldProps {
  label: string;
  placeholder: string;
  value: string;
  onChange: (value: string) => void;
  /** Enter in the field: usually opens the first row. */
  onEnter?: () => void;
}

/** Filters what is on the page as one types; `/` goes to it, Escape empties it and then leaves it. */
export function SearchField({ label, placeholder, value, onChange, onEnter }: SearchFieldProps) {
  const field = useRef<HTMLInputElement>(null);
  useHotkey("/", "Search", () => field.current?.select());
  return (
    <div className="search-field" role="search">
      <Search size={15} aria-hidden="true" />
      <input
        ref={field}
        type="text"
        aria-label={label}
        placeholder={placeholder}
        value={value}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") onEnter?.();
          if (event.key !== "Escape") return;
          if (value) onChange("");
          else event.currentTarget.blur();
        }}
      />
      {value ? <IconButton label="Clear the search" icon={<X size={14} />} onClick={() => onChange("")} /> : <Keys keys="/" />}
    </div>
  );
}
