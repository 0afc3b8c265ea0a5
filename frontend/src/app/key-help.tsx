import "./key-help.css";

import { useState } from "react";

import { Dialog } from "@/components/dialog";
import { Keys } from "@/components/keys";
import { listed } from "@/lib/hotkeys";

export default function KeyHelp({ onClose }: { onClose: () => void }) {
  const [groups] = useState(() => Map.groupBy(listed(), (hotkey) => hotkey.group));
  return (
    <Dialog title="Keys" onClose={onClose} wide>
      <div className="key-help">
        {[...groups].map(([group, hotkeys]) => (
          <section key={group}>
            <h3>{group}</h3>
            <ul>
              {hotkeys.map((hotkey) => (
                <li key={hotkey.keys + hotkey.label}>
                  <span>{hotkey.label}</span>
                  <Keys keys={hotkey.keys} />
                  <span className="sr-only">{hotkey.keys}</span>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
