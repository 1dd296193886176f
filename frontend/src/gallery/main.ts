import { mount } from 'svelte';
import AppView from '../App.svelte';
import Gallery from './Gallery.svelte';
import { preferences } from '../lib/stores/settings';
import { world, type Scene } from './world';
import '../theme/tokens.css';
import '../theme/base.css';

// gallery.html?page=states&theme=dark
const query = new URLSearchParams(location.search);
const page = query.get('page') ?? 'states';
const theme = query.get('theme');
if (theme) document.documentElement.classList.add(theme);
const target = document.getElementById('app')!;
if (page === 'states' || page === 'approvals' || page === 'chat') mount(Gallery, { target, props: { page } });
else {
  const app = world(page as Scene);
  // The picture's theme is the query's, not the settings'.
  Object.defineProperty(app, 'prefs', { get: () => ({ ...preferences(null), theme: theme ?? 'system', density: query.get('density') ?? 'comfortable', zoom: Number(query.get('zoom') ?? 100), terminalFont: 12, scrollback: 1000 }) });
  mount(AppView, { target, props: { app } });
}
