import "./palette.css";

import * as Radix from "@radix-ui/react-dialog";
import { useQuery } from "@tanstack/react-query";
import { CornerDownLeft, Database, FolderOpen, Keyboard, ListVideo, LogOut, MessageSquareText, Search, Settings2 } from "lucide-react";
import { useState, type KeyboardEvent, type ReactElement } from "react";
import { useLocation } from "wouter";

import { Keys } from "@/components/keys";
import { useFocusBack } from "@/hooks/use-focus-back";
import { useProject } from "@/hooks/use-project";
import { promptsQuery } from "@/lib/api/queries";
import type { Session } from "@/lib/api/types";
import { parseSearch } from "@/lib/filters";
import { prefetchRoute } from "@/lib/prefetch";
import { setTheme } from "@/lib/theme";

import { THEMES, useSignOut } from "./menus";

interface Command {
  id: string;
  group: string;
  name: string;
  keys?: string;
  icon: ReactElement;
  run: () => void;
}

interface Place {
  name: string;
  path: string;
  keys: string;
  icon: (props: { size: number }) => ReactElement | React.ReactNode;
}

interface PaletteProps {
  session: Session;
  places: readonly { name: string; path: string; keys: string; icon: Place["icon"] | object }[];
  onClose: () => void;
  onKeys: () => void;
}

/** Everything by typing: go somewhere, search traces, do something. */
export default function Palette({ onClose, ...rest }: PaletteProps) {
  const [query, setQuery] = useState("");
  const [index, setIndex] = useState(0);
  const commands = useCommands(query, rest);
  const chosen = Math.min(index, commands.length - 1);
  const back = useFocusBack();

  const run = (command: Command | undefined) => {
    if (!command) return;
    onClose();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setIndex((chosen + step + commands.length) % commands.length);
    else if (event.key === "Enter") run(commands[chosen]);
    else return;
    event.preventDefault();
  };

  return (
    <Radix.Root open onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="overlay" />
        <Radix.Content className="palette" onCloseAutoFocus={back} aria-describedby={undefined} onKeyDown={onKeyDown}>
          <Radix.Title className="sr-only">Command palette</Radix.Title>
          <div className="palette-field">
            <Search size={16} aria-hidden="true" />
            <input
              role="combobox"
              aria-expanded="true"
              aria-controls="palette-list"
              aria-activedescendant={commands[chosen] && `command-${commands[chosen].id}`}
              aria-label="Go, search, act"
              placeholder="Go somewhere, search traces, do something"
              value={query}
              onChange={(event) => {
                setQuery(event.target.value);
                setIndex(0);
              }}
            />
          </div>
          <CommandList commands={commands} chosen={chosen} onRun={run} onChoose={setIndex} />
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

interface ListProps {
  commands: Command[];
  chosen: number;
  onRun: (command: Command) => void;
  onChoose: (index: number) => void;
}

function CommandList({ commands, chosen, onRun, onChoose }: ListProps) {
  return (
    <div className="palette-list" id="palette-list" role="listbox" aria-label="Commands">
      {commands.map((command, index) => (
        <div
          key={command.id}
          id={`command-${command.id}`}
          role="option"
          aria-selected={index === chosen}
          className="palette-item"
          ref={index === chosen ? (node) => node?.scrollIntoView({ block: "nearest" }) : undefined}
          onPointerMove={() => index !== chosen && onChoose(index)}
          onClick={() => onRun(command)}
        >
          {command.icon}
          <span className="ellipsis">{command.name}</span>
          <span className="faint">{command.group}</span>
          {index === chosen ? <CornerDownLeft size={13} aria-hidden="true" /> : command.keys && <Keys keys={command.keys} />}
        </div>
      ))}
    </div>
  );
}

/** What has no entry of its own in the side bar. */
const LISTS = { observations: "Observations", sessions: "Sessions", users: "Users", "datasets?tab=experiments": "Experiments" };
const SETTINGS = { keys: "API keys", connections: "Connections", members: "Members", prompts: "Prompt labels and approvals", prices: "Prices", masks: "Masks", retention: "Retention and erasing" };

function useCommands(query: string, { session, places, onKeys }: Omit<PaletteProps, "onClose">): Command[] {
  const { slug } = useProject();
  const [, go] = useLocation();
  const signOut = useSignOut();
  const prompts = useQuery(promptsQuery(slug)).data ?? [];
  const to = (path: string) => () => {
    prefetchRoute(`/p/${slug}/${path}`);
    go(`/p/${slug}/${path}`);
  };
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (command: Command) => words.every((word) => `${command.name} ${command.group}`.toLowerCase().includes(word));
  const fixed: Command[] = [
    ...places.map((place) => {
      const Icon = place.icon as Place["icon"];
      return { id: place.path, group: "Go", name: place.name, keys: place.keys, icon: <Icon size={15} />, run: to(place.path) };
    }),
    ...Object.entries(LISTS).map(([path, name]) => ({ id: path.replace(/\W/g, "-"), group: "Go", name, icon: <FolderOpen size={15} />, run: to(path) })),
    { id: "new-prompt", group: "Act", name: "New prompt", icon: <MessageSquareText size={15} />, run: to("prompts?new=1") },
    { id: "new-dataset", group: "Act", name: "New dataset", icon: <Database size={15} />, run: to("datasets?new=1") },
    { id: "new-run", group: "Act", name: "New run", icon: <ListVideo size={15} />, run: to("runs?new=1") },
    ...prompts.map((p) => ({ id: `p-${p.name}`, group: "Prompt", name: p.name, icon: <MessageSquareText size={15} />, run: to(`prompts/${p.name}`) })),
    ...Object.entries(SETTINGS).map(([tab, name]) => ({ id: `settings-${tab}`, group: "Settings", name, icon: <Settings2 size={15} />, run: to(`settings/${tab}`) })),
    ...session.projects.filter((p) => p.slug !== slug).map((p) => ({ id: `project-${p.slug}`, group: "Project", name: p.name, icon: <FolderOpen size={15} />, run: () => go(`/p/${p.slug}/traces`) })),
    ...THEMES.map(({ value, label, icon }) => ({ id: `theme-${value}`, group: "Theme", name: label, icon, run: () => setTheme(value) })),
    { id: "keys", group: "Help", name: "Keys", keys: "?", icon: <Keyboard size={15} />, run: onKeys },
    { id: "sign-out", group: "Account", name: "Sign out", icon: <LogOut size={15} />, run: () => void signOut() },
  ];
  const found = fixed.filter(fits);
  if (!query.trim()) return found;
  return [...found, { id: "search", group: "Traces", name: `Search traces for “${query.trim()}”`, icon: <Search size={15} />, run: to(`traces?${searchOf(query)}`) }];
}

function searchOf(query: string): string {
  const { q, fields } = parseSearch(query);
  return new URLSearchParams({ ...(q && { q }), ...fields }).toString();
}
