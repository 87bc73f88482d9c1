/** How the API page looks: no font, picture or script of another host, dark where the reader's system is. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --text: #1c2430; --soft: #5a6675; --line: #dde3ea; --page: #ffffff; --card: #f6f8fa;
  --link: #0b5cad; --get: #17692f; --put: #8a5200; --post: #0b5cad; --delete: #b01d2e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e4e9ef; --soft: #98a4b3; --line: #2c3641; --page: #12171d; --card: #1a2129;
    --link: #7ab7f5; --get: #6fcf8c; --put: #e6b566; --post: #7ab7f5; --delete: #f58591;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body {
  margin: 0; color: var(--text); background: var(--page);
  font: 16px/1.5 system-ui, sans-serif;
}
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
code, pre, .path { font: 0.875em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
pre {
  margin: 0.5rem 0; padding: 0.6rem 0.8rem; background: var(--card);
  white-space: pre-wrap; overflow-wrap: anywhere;
  border: 1px solid var(--line); border-radius: 6px;
}
pre b { font-weight: 600; }
pre .c { color: var(--soft); font-style: italic; }
pre .v { color: var(--get); }
h1 { font-size: 1.6rem; margin: 0 0 0.5rem; }
h1 small { color: var(--soft); font-size: 0.6em; font-weight: 400; }
h2 { margin: 3rem 0 0; padding-bottom: 0.3rem; border-bottom: 1px solid var(--line); }
h2 small { color: var(--soft); font-size: 0.65em; font-weight: 400; margin-left: 0.5rem; }
h3 { margin: 0; font-size: 1rem; overflow-wrap: anywhere; }
h4 { margin: 0.9rem 0 0.2rem; font-size: 0.8rem; color: var(--soft); text-transform: uppercase; letter-spacing: 0.05em; }
section.call { padding: 1.4rem 0 0.6rem; }
section.call + section.call { border-top: 1px solid var(--line); }
section.call p { margin: 0.4rem 0; }
:target > h3, :target > h4 { background: color-mix(in srgb, var(--link) 18%, transparent); }
.path { font-size: 1rem; font-weight: 600; }
.method { font: 700 0.75rem ui-monospace, monospace; display: inline-block; min-width: 3.6rem; }
.GET { color: var(--get); } .PUT { color: var(--put); } .POST { color: var(--post); } .DELETE { color: var(--delete); }
table { width: 100%; border-collapse: collapse; font-size: 0.9rem; }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.8rem 0.3rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 500; }
td:first-child { white-space: nowrap; }
.errors { font-size: 0.9rem; color: var(--soft); }
.errors span { margin-right: 0.9rem; }
.layout { max-width: 78rem; margin: 0 auto; padding: 1.5rem; }
nav { font-size: 0.9rem; }
nav ul { list-style: none; margin: 0 0 0.8rem; padding: 0; }
nav a { display: block; padding: 0.1rem 0; overflow-wrap: anywhere; }
nav .method { min-width: 3.2rem; font-size: 0.65rem; }
@media (min-width: 64rem) {
  .layout { display: grid; grid-template-columns: 19rem minmax(0, 1fr); gap: 2.5rem; }
  nav { position: sticky; top: 1.5rem; align-self: start; max-height: calc(100vh - 3rem); overflow-y: auto; }
}
@media (max-width: 40rem) {
  .layout { padding: 1rem; }
  nav { columns: 2; margin-bottom: 1.5rem; }
  nav ul { break-inside: avoid; }
  nav .method { min-width: 0; margin-right: 0.3rem; }
  table, tbody, tr, td { display: block; }
  thead { display: none; }
  tr { padding: 0.4rem 0; border-bottom: 1px solid var(--line); }
  td, td:first-child { border: 0; padding: 0; white-space: normal; }
}
@media print { nav { display: none; } .layout { display: block; } }
`;
