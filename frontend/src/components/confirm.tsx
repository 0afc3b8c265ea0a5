import { Button } from "./button";
import { Dialog } from "./dialog";

interface ConfirmProps {
  title: string;
  description: string;
  action: string;
  busy?: boolean;
  onConfirm: () => void;
  onClose: () => void;
}

/** Asks before what cannot be undone. */
export default function Confirm({ title, description, action, busy, onConfirm, onClose }: ConfirmProps) {
  return (
    <Dialog title={title} description={description} onClose={onClose}>
      <div className="form-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button variant="danger" busy={busy} onClick={onConfirm}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
