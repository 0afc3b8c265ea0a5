import { cloneElement, useState, type ComponentProps, type ReactElement, type ReactNode } from "react";

import { announce } from "@/lib/announce";

import type * as Radix from "./menu-radix";

type Floats = typeof Radix;

/** Menus float on a positioning engine of 20 KB; it comes when the mouse or the focus nears a menu's button, or on its click. */
let floats: Floats | undefined;
const load = async () => {
  floats ??= await import("./menu-radix");
};

// Plain functions, not lazy ones: those would have the first menu wait for a fallback's shortest time.
export const MenuItem = (props: ComponentProps<Floats["MenuItem"]>) => floats && <floats.MenuItem {...props} />;
export const MenuLabel = (props: ComponentProps<Floats["MenuLabel"]>) => floats && <floats.MenuLabel {...props} />;
export const MenuLine = () => floats && <floats.MenuLine />;

interface MenuProps {
  /** A button. */
  trigger: ReactElement<ComponentProps<"button">>;
  align?: "start" | "end";
  side?: "top" | "bottom" | "right";
  children: ReactNode;
}

export function Menu({ trigger, ...rest }: MenuProps) {
  const [asked, setAsked] = useState(false);
  // A failed first load is repeated, and told, by the click.
  const near = () => void load().catch(() => undefined);
  const open = () =>
    load().then(
      () => setAsked(true),
      () => announce("The menu could not be loaded: reload the page", "error"),
    );
  if (asked && floats) return <floats.Menu trigger={trigger} {...rest} />;
  // The button keeps the focus until the menu can take it.
  return cloneElement(trigger, { "aria-haspopup": "menu", "aria-expanded": false, onPointerEnter: near, onFocus: near, onClick: () => void open() });
}
