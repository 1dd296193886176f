import type { IDisposable, Terminal } from '@xterm/xterm';

/**
 * The host answers a program's questions to the terminal, once, however many
 * windows show it. So this one stays silent: device attributes, status and
 * cursor reports, mode and setting requests, colour queries, version.
 */
export function silenceQueries(term: Terminal): IDisposable {
  const p = term.parser;
  const yes = () => true;
  const asks = (data: string) => /(^|;)\?/.test(data);
  const all = [
    p.registerCsiHandler({ final: 'c' }, yes),
    p.registerCsiHandler({ prefix: '>', final: 'c' }, yes),
    p.registerCsiHandler({ prefix: '=', final: 'c' }, yes),
    p.registerCsiHandler({ final: 'n' }, yes),
    p.registerCsiHandler({ prefix: '?', final: 'n' }, yes),
    p.registerCsiHandler({ prefix: '>', final: 'q' }, yes),
    p.registerCsiHandler({ intermediates: '$', final: 'p' }, yes),
    p.registerCsiHandler({ prefix: '?', intermediates: '$', final: 'p' }, yes),
    p.registerCsiHandler({ prefix: '?', final: 'u' }, yes),
    p.registerCsiHandler({ final: 't' }, (params) => [11, 13, 14, 15, 16, 18, 19, 20, 21].includes(Number(params[0]))),
    p.registerDcsHandler({ intermediates: '$', final: 'q' }, yes),
    p.registerDcsHandler({ intermediates: '+', final: 'q' }, yes),
    ...[4, 5, 10, 11, 12, 17, 19].map((id) => p.registerOscHandler(id, asks)),
    // OSC 52: neither read nor written from a program's output.
    p.registerOscHandler(52, yes),
  ];
  return { dispose: () => all.forEach((d) => d.dispose()) };
}
