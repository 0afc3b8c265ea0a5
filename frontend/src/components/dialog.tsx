import "./dialog.css";

import * as Radix from "@radix-ui/react-dialog";
import { X } from "lucide-react";
import type { ReactNode } from "react";

import { useFocusBack } from "@/hooks/use-focus-back";

import { IconButton } from "./button";

interface DialogProps {
  title: string;
  description?: string;
  onClose: () => void;
  wide?: boolean;
  children: ReactNode;
}

/** A dialog that is open while it is mounted. */
export function Dialog({ title, description, onClose, wide, children }: DialogProps) {
  const back = useFocusBack();
  return (
    <Radix.Root open onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="overlay" />
        <Radix.Content className={`dialog ${wide ? "dialog-wide" : ""}`} onCloseAutoFocus={back} {...(description ? {} : { "aria-describedby": undefined })}>
          <div className="dialog-head">
            <Radix.Title>{title}</Radix.Title>
            <Radix.Close asChild>
              <IconButton label="Close" icon={<X size={16} />} />
            </Radix.Close>
          </div>
          {description && <Radix.Description className="muted">{description}</Radix.Description>}
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
