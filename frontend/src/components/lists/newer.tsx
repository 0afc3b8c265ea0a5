import { ArrowUp } from "lucide-react";

import { Button } from "@/components/button";

/** Floats over a list whose reader has scrolled away while rows came in. */
export function Newer({ shown, onShow }: { shown: boolean; onShow: () => void }) {
  if (!shown) return null;
  return (
    <Button className="newer" size="small" variant="primary" icon={<ArrowUp size={13} />} onClick={onShow}>
      New rows
    </Button>
  );
}
