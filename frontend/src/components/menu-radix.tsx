import "./menu.css";

import * as Radix from "@radix-ui/react-dropdown-menu";
import { Check } from "lucide-react";
import type { ReactElement, ReactNode } from "react";

import { Keys } from "./keys";

interface MenuProps {
  trigger: ReactElement;
  align?: "start" | "end";
  side?: "top" | "bottom" | "right";
  children: ReactNode;
}

/** Open at once: it is mounted by the first click on its button. */
export function Menu({ trigger, align = "start", side = "bottom", children }: MenuProps) {
  return (
    <Radix.Root modal={false} defaultOpen>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content className="menu" align={align} side={side} sideOffset={4} collisionPadding={8}>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

interface ItemProps {
  icon?: ReactNode;
  keys?: string;
  checked?: boolean;
  danger?: boolean;
  disabled?: boolean;
  onSelect: () => void;
  children: ReactNode;
}

export function MenuItem({ icon, keys, checked, danger, disabled, onSelect, children }: ItemProps) {
  return (
    <Radix.Item className={`menu-item ${danger ? "menu-danger" : ""}`} disabled={disabled} onSelect={onSelect}>
      {icon}
      <span className="ellipsis">{children}</span>
      {checked && <Check size={14} aria-label="chosen" />}
      {keys && <Keys keys={keys} />}
    </Radix.Item>
  );
}

export function MenuLabel({ children }: { children: ReactNode }) {
  return <Radix.Label className="menu-label">{children}</Radix.Label>;
}

export function MenuLine() {
  return <Radix.Separator className="menu-line" />;
}
