// A server for the tests of the pprof page: startServer() is the only function that the tests need.

import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { fileURLToPath } from 'node:url';
import { pageText } from './browser.js';
import { byFunction, weigh } from '../../web/tree.js';
import { profileOf } from '../../web/data.js';
import { formatValue } from '../../web/units.js';
import { findFunctions } from '../../web/search.js';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The arrays of bytes in the C source that tools/embed-web prints. */
function embedded() {
    const source = execFileSync(`${root}tools/embed-web`, [`${root}web`], { maxBuffer: 1e8, encoding: 'utf8' });
    const parts = source.matchAll(/static const unsigned char pprof_(\w+)\[\] = \{\n(.*?)\n0\};/gs);
    return Object.fromEntries([...parts].map(([, name, bytes]) => [name, Buffer.from(bytes.replace(/0x|[,\n]/g, ''), 'hex')]));
}

/** The data of the first profile of a page. */
function profileIn(page, kind) {
    const text = pageText(page);
    const { data } = JSON.parse(text.match(/id="bundle">(.*?)<\/script>/s)[1]);
    const { id } = data.find((entry) => entry.id && entry.form === 'profile' && (!kind || entry.kind === kind));
    const packed = text.match(new RegExp(`id="${id}"[^>]*>([^<]*)<`))[1];
    return JSON.parse(gunzipSync(Buffer.from(packed.trim(), 'base64')));
}

function topOf(raw, type) {
    const profile = profileOf(raw);
    const figures = weigh(profile.tree, type);
    const { flat, cum } = byFunction(profile.tree, figures, profile.nFunctions);
    const { unit } = raw.types[type];
    const rows = [...flat.keys()].map((fn) => ({
        name: profile.nameOf(fn),
        inline: '',
        flat: flat[fn],
        flatText: formatValue(flat[fn], unit),
        cum: cum[fn],
        cumText: formatValue(cum[fn], unit),
    }));
    return { total: figures.weight[0], unit, rows: rows.filter((row) => row.cum).sort((a, b) => b.flat - a.flat) };
}

/** Removes the stacks that the parameters f and i do not select. */
function filtered(raw, params) {
    const profile = profileOf(raw);
    const marks = (name) => {
        const found = findFunctions(profile, params.get(name) || '');
        if (found && found.error) throw Object.assign(new Error(`parsing ${name} regexp: ${found.error}`), { status: 400 });
        return found && found.marked;
    };
    const [focus, ignore] = [marks('f'), marks('i')];
    const has = (mark, node) => {
        for (let at = node; at > 0; at = profile.tree.parent[at]) if (mark[profile.tree.fn[at]]) return true;
        return false;
    };
    const keep = (node) => (!focus || has(focus, node)) && (!ignore || !has(ignore, node));
    const self = raw.nodes.self.map((values) => values.map((value, node) => (keep(node) ? value : 0)));
    return { ...raw, nodes: { ...raw.nodes, self } };
}

const profgrab = (...args) => execFileSync(process.env.PROFGRAB || `${root}build/gcc/profgrab`, ['pprof', ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

const SOURCE = {
    note: '',
    files: ['/src/work.go', '/src/missing.go'].map((path, i) => ({
        path,
        functions: [
            {
                name: 'main.burnCycles',
                flat: '10ms',
                cum: '1s',
                lines: [12, 13, 14].map((n) => ({
                    n,
                    flat: '',
                    cum: '1s',
                    text: i ? '' : `\tline${n}()`,
                    code: [{ at: `0x4a2b1${n - 12}`, flat: '10ms', cum: '', text: 'CALL foo', place: `work.go:${n}`, file: path, line: n, inlined: ['main.go:40 foo'] }],
                })),
            },
        ],
    })),
};
const TAGS = { keys: [{ key: 'thread', total: '1.2s', values: [{ value: 'main (1)', text: '1s', share: 0.83 }, { value: 'b', text: '200ms', share: 0.17 }] }] };

function answerOf(view, params, state) {
    const raw = filtered(state.raw, params);
    const named = raw.types.findIndex(({ type }) => type === params.get('si'));
    const type = named >= 0 ? named : Number(params.get('si') || raw.default);
    const makers = {
        flamegraph: () => raw,
        top: () => topOf(raw, type),
        peek: () => ({ text: profgrab(`-peek=${params.get('f') || ''}`, state.file) }),
        disasm: () => ({ text: 'Total: 180ms\nROUTINE ======================== main.burnCycles\n      10ms       20ms (flat, cum) 11.11% of Total\n         .          .     4a2b10: CALL runtime.mallocgc(SB)    ;main.burnCycles work.go:12\n' }),
        graph: () => ({ svg: profgrab('-svg', state.file) }),
        tags: () => TAGS,
        source: () => (state.pasted ? { ...SOURCE, files: SOURCE.files.map((file) => ({ ...file, functions: file.functions.map((f) => ({ ...f, lines: f.lines.map((l) => ({ ...l, text: state.pasted })) })) })) } : SOURCE),
    };
    const query = String(params);
    return {
        view,
        title: `rude ${raw.types[type].type}`,
        heading: ['File: rude', `Type: ${raw.types[type].type}`, 'Duration: 2s'],
        sources: ['cpu.pb.gz'],
        bases: [],
        isDifference: false,
        types: raw.types,
        type,
        configs: [{ name: 'Default', query: '', current: query === '', saved: false }, ...state.configs.map((c) => ({ ...c, current: c.query === query, saved: true }))],
        errors: params.get('f') === 'nosuchfunction' ? ['Focus expression matched no samples'] : [],
        data: makers[view](),
    };
}

/** Starts a server for a profile of the directory of the pages. Returns {url, end(), requests}. */
export async function startServer({ page = 'bundle', kind = 'cpu', file = 'cpu.pb.gz' } = {}) {
    const parts = embedded();
    const state = { raw: profileIn(page, kind), file: `${process.env.PAGES || `${root}build/npm/browser/pages`}/${file}`, configs: [], pasted: '' };
    const send = (response, status, type, text) => {
        response.writeHead(status, { 'Content-Type': type, 'Content-Security-Policy': String(parts.policy), Vary: 'Accept' });
        response.end(text);
    };
    const answer = async (request, response) => {
        const url = new URL(request.url, 'http://x');
        const [, dir, view] = url.pathname.split('/');
        if (url.pathname === '/web/pprof.js') return send(response, 200, 'text/javascript', parts.script);
        if (url.pathname === '/web/pprof.css') return send(response, 200, 'text/css', parts.style);
        if (url.pathname === '/') return response.writeHead(307, { Location: '/ui/flamegraph' }).end();
        const config = url.searchParams.get('config');
        if (view === 'saveconfig') {
            url.searchParams.delete('config');
            state.configs.push({ name: config, query: String(url.searchParams) });
            return send(response, 200, 'text/plain', '');
        }
        if (view === 'deleteconfig') {
            state.configs = state.configs.filter(({ name }) => name !== config);
            return send(response, 200, 'text/plain', '');
        }
        if (dir !== 'ui') return send(response, 404, 'text/plain', 'not found');
        if (request.method === 'POST') {
            state.pasted = '';
            for await (const chunk of request) state.pasted += chunk;
        }
        const json = JSON.stringify(answerOf(view, url.searchParams, state));
        if (request.headers.accept === 'application/json') return send(response, 200, 'application/json', json);
        return send(response, 200, 'text/html', String(parts.template).replace('<!--data-->', () => json.replace(/</g, '\\u003c')));
    };
    const server = createServer((request, response) => answer(request, response).catch((e) => send(response, e.status || 500, 'text/plain', e.message)));
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    return {
        url: `http://127.0.0.1:${server.address().port}/`,
        end: () => (server.closeAllConnections(), server.close()),
    };
}
