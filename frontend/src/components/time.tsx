import { useNow } from "@/hooks/use-now";
import { formatAgo, formatMoment } from "@/lib/format";

/** "3 min ago", with the exact moment on hover. */
export function Ago({ at }: { at: string | null }) {
  const now = useNow(30_000);
  if (!at) return <span className="faint">never</span>;
  return (
    <time dateTime={at} title={formatMoment(at)}>
      {formatAgo(at, now)}
    </time>
  );
}
