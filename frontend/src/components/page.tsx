import "./page.css";

import { ChevronRight } from "lucide-react";
import { Fragment, useRef, type ReactNode } from "react";

import { useLanding } from "@/hooks/use-landing";
import { useTitle } from "@/hooks/use-title";

import { Link } from "./link";

interface PageProps {
  title: string;
  /** Pages above this one. */
  path?: { title: string; href: string }[];
  aside?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** A page: its bar with where one is and what one can do, and its content. */
export function Page({ title, path = [], aside, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useTitle(title);
  useLanding(heading);
  return (
    <main className="page" id="main" tabIndex={-1}>
      <header className="page-bar">
        <div className="page-title">
          {path.map((step) => (
            <Fragment key={step.href}>
              <Link href={step.href} className="page-step">
                {step.title}
              </Link>
              <ChevronRight size={14} aria-hidden="true" className="faint" />
            </Fragment>
          ))}
          <h1 className="ellipsis" title={title} ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {aside}
        </div>
        <div className="page-actions">{actions}</div>
      </header>
      {children}
    </main>
  );
}
