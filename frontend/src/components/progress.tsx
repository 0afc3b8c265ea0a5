import "./progress.css";

interface ProgressProps {
  done: number;
  failed: number;
  total: number;
  label: string;
}

export function Progress({ done, failed, total, label }: ProgressProps) {
  const share = (count: number) => `${total > 0 ? (100 * count) / total : 0}%`;
  return (
    <div className="progress" role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={total} aria-valuenow={done + failed}>
      <i style={{ width: share(done) }} />
      <i className="progress-failed" style={{ width: share(failed) }} />
    </div>
  );
}
