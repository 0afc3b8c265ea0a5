import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";

import { announce } from "@/lib/announce";

import { Button, IconButton } from "./button";

interface CopyProps {
  text: string | (() => string);
  label: string;
  /** Shows the label beside the icon. */
  wide?: boolean;
}

export function CopyButton({ text, label, wide }: CopyProps) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), 1400);
    return () => clearTimeout(timer);
  }, [copied]);

  const copy = async () => {
    if (await copyText(typeof text === "function" ? text() : text)) setCopied(true);
  };
  const icon = copied ? <Check size={14} /> : <Copy size={14} />;
  if (wide) {
    return (
      <Button size="small" icon={icon} onClick={() => void copy()}>
        {copied ? "Copied" : label}
      </Button>
    );
  }
  return <IconButton label={copied ? "Copied" : label} icon={icon} onClick={() => void copy()} />;
}

/** Copies and says so; where the browser refuses, says that instead. */
export async function copyText(text: string, what = "Copied"): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    announce(what);
    return true;
  } catch {
    announce("The browser did not allow copying; select the text instead", "error");
    return false;
  }
}
