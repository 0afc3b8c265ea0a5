import "./media.css";

import { useQuery } from "@tanstack/react-query";
import { FileDown, FileX2 } from "lucide-react";
import { useMemo } from "react";

import { useProject } from "@/hooks/use-project";
import { ApiError } from "@/lib/api/client";
import { mediaQuery } from "@/lib/api/queries";
import type { Media } from "@/lib/api/types";
import { formatBytes } from "@/lib/format";
import { mediaIn, type MediaToken } from "@/lib/media";

/** The files that a value's tokens stand for: shown where a browser safely can, else to be saved. */
export default function Files({ value }: { value: unknown }) {
  const tokens = useMemo(() => mediaIn(value), [value]);
  if (tokens.length === 0) return null;
  return (
    <ul className="media" aria-label="Files">
      {tokens.map((token) => (
        <li key={token.id}>
          <File token={token} />
        </li>
      ))}
    </ul>
  );
}

function File({ token }: { token: MediaToken }) {
  const { slug } = useProject();
  const query = useQuery(mediaQuery(slug, token.id));
  if (query.isPending) return <span className="media-note faint">{token.type}</span>;
  if (query.error) {
    const missing = query.error instanceof ApiError && query.error.status === 404;
    return (
      <span className="media-note faint">
        <FileX2 size={14} aria-hidden="true" /> {token.type}: {missing ? "its upload has not arrived" : query.error.message}
      </span>
    );
  }
  return <Shown media={query.data} />;
}

function Shown({ media: { url, content_type: type, num_bytes, is_inline } }: { media: Media }) {
  const kind = is_inline ? type.split("/")[0] : "";
  if (kind === "image") return <img src={url} alt={`${type}, ${formatBytes(num_bytes)}`} loading="lazy" />;
  if (kind === "audio") return <audio src={url} controls preload="none" aria-label={type} />;
  if (kind === "video") return <video src={url} controls preload="none" aria-label={type} />;
  return (
    <a href={url} target="_blank" rel="noreferrer noopener" className="media-note">
      <FileDown size={14} aria-hidden="true" /> {type} <span className="faint">{formatBytes(num_bytes)}</span>
    </a>
  );
}
