/** Where the host's WebSocket is and with which token: from the desktop shell, else from this page's own address. */

export interface Endpoint {
  url: string;
  token?: string;
  /** The desktop's name of this window, and what it shows first. */
  window?: string;
  open?: string;
}

const KEY = 'whippletree.token';

export function inDesktop(): boolean {
  return typeof window !== 'undefined' && typeof window.go?.main?.App?.Endpoint === 'function';
}

export async function endpoint(): Promise<Endpoint> {
  const app = window.go?.main?.App;
  if (app?.Endpoint) return (await app.Endpoint()) as Endpoint;
  return pageEndpoint(window.location, window.sessionStorage, (clean) => window.history.replaceState(null, '', clean));
}

/**
 * The token comes once in the hash or the query. It is kept for reloads of this
 * tab and taken out of the address, so that it lands in no history.
 */
export function pageEndpoint(
  location: Pick<Location, 'protocol' | 'host' | 'pathname' | 'search' | 'hash'>,
  storage: Pick<Storage, 'getItem' | 'setItem'>,
  replace: (url: string) => void,
): Endpoint {
  const query = new URLSearchParams(location.search);
  const hash = new URLSearchParams(location.hash.replace(/^#/, ''));
  const given = hash.get('token') ?? query.get('token');
  if (given) {
    storage.setItem(KEY, given);
    query.delete('token');
    hash.delete('token');
    const q = query.toString();
    const h = hash.toString();
    replace(location.pathname + (q ? `?${q}` : '') + (h ? `#${h}` : ''));
  }
  const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
  return { url: `${scheme}//${location.host}/ws`, token: given ?? storage.getItem(KEY) ?? undefined };
}

export function socketURL(e: Endpoint): string {
  if (!e.token) return e.url;
  return `${e.url}${e.url.includes('?') ? '&' : '?'}token=${encodeURIComponent(e.token)}`;
}
