import type { AnchorHTMLAttributes, Ref } from "react";
import { Link as RouterLink } from "wouter";

import { prefetchRoute } from "@/lib/prefetch";

type LinkProps = AnchorHTMLAttributes<HTMLAnchorElement> & { href: string; replace?: boolean; ref?: Ref<HTMLAnchorElement> };

/** A link within the app; its page's code is fetched when the mouse or the focus nears. */
export function Link({ href, children, ...rest }: LinkProps) {
  const near = () => prefetchRoute(href);
  return (
    <RouterLink href={href} onPointerEnter={near} onFocus={near} {...rest}>
      {children}
    </RouterLink>
  );
}
