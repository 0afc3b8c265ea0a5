import { EditorView } from "@codemirror/view";
import { Eye } from "lucide-react";
import { useEffect, type RefObject } from "react";

import { Button } from "@/components/button";
import { useUrlValue } from "@/hooks/use-url";

import { spotJson } from "./places";
import type { Room, RoomState } from "./room";

const TOLD_MS = 150;

/** Tells the others what is at the top of this screen, so that they can go along. */
export function useTellTop(room: Room, desk: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const host = desk.current;
    if (!host) return undefined;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const tell = () => {
      timer = undefined;
      const top = topOf(room, host);
      if (top) room.awareness.setLocalStateField("top", top);
    };
    const scrolled = () => (timer ??= setTimeout(tell, TOLD_MS));
    host.addEventListener("scroll", scrolled, { passive: true });
    return () => {
      host.removeEventListener("scroll", scrolled);
      clearTimeout(timer);
    };
  }, [room, desk]);
}

function topOf(room: Room, host: HTMLElement): unknown {
  const { top } = host.getBoundingClientRect();
  for (const [text, view] of room.views) {
    const box = view.dom.getBoundingClientRect();
    if (box.bottom < top + 8) continue;
    return spotJson(text, view.posAtCoords({ x: box.left + 16, y: Math.max(box.top, top) + 4 }, false));
  }
  return null;
}

/** Goes where the followed person goes, until the hand does something else. */
export function useFollowing(room: Room, state: RoomState, desk: RefObject<HTMLElement | null>): void {
  const [tab, setTab] = useUrlValue("tab");
  const place = state.people.find(({ id }) => id === state.following)?.place;
  const top = place?.top;
  const [topText, topIndex] = [top?.text, top?.index];
  const [text, index, theirTab] = [place?.text, place?.index, place?.tab ?? null];
  useEffect(() => scrollTo(room, topText, topIndex, "start"), [room, topText, topIndex]);
  useEffect(() => scrollTo(room, text, index, "nearest"), [room, text, index]);
  useEffect(() => {
    if (theirTab !== null && theirTab !== tab) setTab(theirTab);
  }, [theirTab, tab, setTab]);
  useEffect(() => {
    const host = desk.current;
    if (!host || state.following === null) return undefined;
    const stop = () => room.follow(null);
    const kinds = ["wheel", "pointerdown", "keydown", "touchmove"] as const;
    for (const kind of kinds) host.addEventListener(kind, stop, { passive: true });
    return () => {
      for (const kind of kinds) host.removeEventListener(kind, stop);
    };
  }, [room, desk, state.following]);
}

function scrollTo(room: Room, text: Parameters<Room["views"]["get"]>[0] | null | undefined, index: number | undefined, y: "start" | "nearest"): void {
  const view = text && room.views.get(text);
  if (!view || index === undefined) return;
  const effects = EditorView.scrollIntoView(Math.min(index, view.state.doc.length), { y, yMargin: y === "start" ? 4 : 48 });
  view.dispatch({ effects });
}

/** Says whose screen this is, and how to leave it. */
export function FollowBar({ room, state }: { room: Room; state: RoomState }) {
  const person = state.people.find(({ id }) => id === state.following);
  if (!person) return null;
  return (
    <div className="t-follow" style={{ borderColor: person.color }} role="status">
      <Eye size={14} aria-hidden="true" />
      <span>
        You follow <strong>{person.name}</strong>
        {person.place?.label && <span className="faint"> {person.place.label}</span>}
      </span>
      <Button size="small" variant="quiet" onClick={() => room.follow(null)}>
        Stop
      </Button>
    </div>
  );
}
