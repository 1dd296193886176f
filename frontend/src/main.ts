import { mount } from 'svelte';
import AppView from './App.svelte';
import { Client } from './lib/api/client';
import { endpoint, inDesktop } from './lib/api/endpoint';
import { App } from './lib/stores/app.svelte';
import './theme/base.css';

/** A reload is the same window; another tab of a browser is another one. */
function windowId(): string {
  const key = 'whippletree.window';
  const id = sessionStorage.getItem(key) ?? crypto.randomUUID();
  sessionStorage.setItem(key, id);
  return id;
}

async function start(): Promise<void> {
  const desktop = inDesktop();
  const first = desktop ? await endpoint() : undefined;
  const client = new Client({ endpoint, hello: { client: desktop ? 'window' : 'browser', version: __APP_VERSION__, window: first?.window ?? windowId(), lease: true } });
  const app = new App(client);
  const target = document.getElementById('app')!;
  target.replaceChildren();
  mount(AppView, { target, props: { app } });
  await client.start();
  if (first?.open) app.show(first.open);
}

void start();
