import { cloneElement, lazy, Suspense, useState, type ComponentProps, type ReactElement, type ReactNode } from "react";

/** Menus float on a positioning engine of 20 KB; it comes when the mouse nears a menu's button, or on its click. */
const load = () => import("./menu-radix");
const Floating = lazy(async () => ({ default: (await load()).Menu }));

export const MenuItem = lazy(async () => ({ default: (await load()).MenuItem }));
export const MenuLabel = lazy(async () => ({ default: (await load()).MenuLabel }));
export const MenuLine = lazy(async () => ({ default: (await load()).MenuLine }));

interface MenuProps {
  /** A button. */
  trigger: ReactElement<ComponentProps<"button">>;
  align?: "start" | "end";
  side?: "top" | "bottom" | "right";
  children: ReactNode;
}

export function Menu({ trigger, ...rest }: MenuProps) {
  const [asked, setAsked] = useState(false);
  const closed = cloneElement(trigger, {
    "aria-haspopup": "menu",
    "aria-expanded": false,
    onPointerEnter: () => void load(),
    onClick: () => setAsked(true),
  });
  if (!asked) return closed;
  return (
    <Suspense fallback={closed}>
      <Floating trigger={trigger} {...rest} />
    </Suspense>
  );
}
