import "./button.css";

import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";

import { ariaKeys } from "@/lib/hotkeys";

import { Keys } from "./keys";

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  variant?: "plain" | "primary" | "quiet" | "danger";
  size?: "small" | "normal";
  icon?: ReactNode;
  keys?: string;
  busy?: boolean;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({ variant = "plain", size = "normal", icon, keys, busy, children, className = "", disabled, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      className={`button button-${variant} button-${size} ${className}`}
      aria-keyshortcuts={keys && ariaKeys(keys)}
      aria-busy={busy || undefined}
      disabled={disabled || busy}
      {...rest}
    >
      {icon}
      {children !== undefined && <span className="button-label">{children}</span>}
      {keys && <Keys keys={keys} />}
    </button>
  );
}

interface IconButtonProps extends Omit<ButtonProps, "children" | "variant"> {
  label: string;
}

/** An icon alone; the label is its name and its tooltip. */
export function IconButton({ label, icon, className = "", keys, title, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      className={`icon-button ${className}`}
      aria-label={label}
      aria-keyshortcuts={keys && ariaKeys(keys)}
      title={title ?? (keys ? `${label} (${keys})` : label)}
      {...rest}
    >
      {icon}
    </button>
  );
}
