import "./shell.css";

import { Database, FlaskConical, ListTree, ListVideo, MessageSquareText, PanelLeft, Search, Settings } from "lucide-react";
import { lazy, Suspense, useState, type ReactNode } from "react";
import { useLocation } from "wouter";

import { IconButton } from "@/components/button";
import { Keys } from "@/components/keys";
import { Link } from "@/components/link";
import { useHotkey } from "@/hooks/use-hotkey";
import { useIsPhone, useMedia } from "@/hooks/use-media";
import { useProject } from "@/hooks/use-project";
import { useRemembered } from "@/hooks/use-remembered";
import type { Session } from "@/lib/api/types";

import { EngineStatus } from "./engine-status";
import { ProjectMenu, UserMenu } from "./menus";

const Palette = lazy(() => import("./palette"));
const KeyHelp = lazy(() => import("./key-help"));

const PLACES = [
  { name: "Traces", path: "traces", keys: "g t", icon: ListTree },
  { name: "Prompts", path: "prompts", keys: "g p", icon: MessageSquareText },
  { name: "Playground", path: "playground", keys: "g l", icon: FlaskConical },
  { name: "Datasets", path: "datasets", keys: "g d", icon: Database },
  { name: "Runs", path: "runs", keys: "g r", icon: ListVideo },
  { name: "Settings", path: "settings/keys", keys: "g s", icon: Settings },
] as const;

/** Pages that are reached from a place and belong to it. */
const ALSO: Record<string, readonly string[]> = {
  traces: ["observations", "sessions", "users", "compare"],
  prompts: ["together"],
  datasets: ["experiments"],
};

type Floating = "palette" | "keys" | null;

export function Shell({ session, children }: { session: Session; children: ReactNode }) {
  const [floating, setFloating] = useState<Floating>(null);
  const close = () => setFloating(null);
  useHotkey("mod+k", "Go, search, act", () => setFloating("palette"), { group: "Everywhere", inFields: true });
  useHotkey("?", "Keys of this page", () => setFloating("keys"), { group: "Everywhere" });
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Skip to content
      </a>
      <Side session={session} onSearch={() => setFloating("palette")} />
      <div className="shell-main">{children}</div>
      <Suspense>
        {floating === "palette" && <Palette session={session} places={PLACES} onClose={close} onKeys={() => setFloating("keys")} />}
        {floating === "keys" && <KeyHelp onClose={close} />}
      </Suspense>
    </div>
  );
}

function Side({ session, onSearch }: { session: Session; onSearch: () => void }) {
  const phone = useIsPhone();
  const narrowScreen = useMedia("(max-width: 1099px)");
  const [chosen, setChosen] = useRemembered<boolean | null>("side.narrow", null);
  const [drawer, setDrawer] = useState(false);
  const narrow = !phone && (chosen ?? narrowScreen);
  const toggle = () => (phone ? setDrawer(!drawer) : setChosen(!narrow));
  useHotkey("mod+b", "Narrow or widen the side bar", toggle, { group: "Everywhere", inFields: true });
  return (
    <>
      {phone && <IconButton className="drawer-button" label="Menu" icon={<PanelLeft size={16} />} aria-expanded={drawer} onClick={toggle} />}
      {phone && drawer && <div className="overlay" onClick={() => setDrawer(false)} />}
      <nav className="side" aria-label="Main" data-narrow={narrow} data-hidden={phone && !drawer} onClick={(event) => phone && (event.target as Element).closest("a") && setDrawer(false)}>
        <ProjectMenu session={session} narrow={narrow} />
        <button type="button" className="side-search" onClick={onSearch} title={narrow ? "Search" : undefined}>
          <Search size={15} aria-hidden="true" />
          <span>Search</span>
          <Keys keys="mod+k" />
        </button>
        <Places narrow={narrow} />
        <SideEnd session={session} narrow={narrow} onToggle={phone ? undefined : toggle} />
      </nav>
    </>
  );
}

function SideEnd({ session, narrow, onToggle }: { session: Session; narrow: boolean; onToggle?: () => void }) {
  return (
    <div className="side-end">
      {!narrow && <EngineStatus />}
      <div className="side-foot">
        <UserMenu user={session.user} narrow={narrow} />
        {onToggle && <IconButton label={narrow ? "Widen the side bar" : "Narrow the side bar"} icon={<PanelLeft size={16} />} onClick={onToggle} />}
      </div>
    </div>
  );
}

function Places({ narrow }: { narrow: boolean }) {
  const { slug } = useProject();
  const [path, go] = useLocation();
  return (
    <ul className="places">
      {PLACES.map((place) => {
        const href = `/p/${slug}/${place.path}`;
        const here = [place.path, ...(ALSO[place.path] ?? [])].some((one) => path.startsWith(`/p/${slug}/${one.split("/")[0]}`));
        return (
          <li key={place.name}>
            <GoKey keys={place.keys} name={place.name} onGo={() => go(href)} />
            <Link href={href} className="place" aria-current={here ? "page" : undefined} title={narrow ? place.name : undefined}>
              <place.icon size={16} aria-hidden="true" />
              <span>{place.name}</span>
            </Link>
          </li>
        );
      })}
    </ul>
  );
}

function GoKey({ keys, name, onGo }: { keys: string; name: string; onGo: () => void }) {
  useHotkey(keys, `Go to ${name}`, onGo, { group: "Go" });
  return null;
}
