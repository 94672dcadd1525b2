// Each player shows the frames of one episode or of two side by side.
for (const player of document.querySelectorAll('[data-player]')) {
  const sides = [...player.querySelectorAll('.frames')].map(f => [...f.children]);
  const rows = [...player.querySelectorAll('[data-row]')];
  const slider = player.querySelector('input'), button = player.querySelector('button');
  slider.max = Math.max(...sides.map(s => s.length)) - 1;
  let timer = 0;
  const show = n => {
    slider.value = n;
    for (const frames of sides) {
      frames.forEach((f, i) => f.classList.toggle('on', i === Math.min(n, frames.length - 1)));
    }
    rows.forEach(r => r.classList.toggle('on', +r.dataset.row === n));
  };
  const stop = () => { clearInterval(timer); timer = 0; button.textContent = '▶'; };
  player.show = n => { stop(); show(n); };
  slider.addEventListener('input', () => player.show(+slider.value));
  button.addEventListener('click', () => {
    if (timer) return stop();
    if (+slider.value >= +slider.max) show(0);
    button.textContent = '❚❚';
    timer = setInterval(() => {
      if (+slider.value >= +slider.max) return stop();
      show(+slider.value + 1);
    }, 350);
  });
  show(0);
}

// A step of a credited episode opens what its advantage is made of; the steps
// and members there lead to theirs. A place is "episode-step".
const part = id => document.getElementById(id)?.content.cloneNode(true) ?? '';
const explain = place => {
  const [episode, step] = place.split('-');
  const player = document.querySelector(`[data-episode="${+episode}"]`);
  const why = player?.querySelector('.why');
  if (!why || !document.getElementById('why-' + place)) return;
  document.querySelectorAll('.why').forEach(w => { w.hidden = w !== why; w.replaceChildren(); });
  player.show(+step);
  why.append(part('why-' + place));
  why.append(part('anchor-' + why.querySelector('[data-anchor]').dataset.anchor), part('members'));
  why.querySelectorAll(`[data-at="${place}"], [data-of="${episode}"]`).forEach(row => row.classList.add('on'));
  player.querySelector(`[data-row="${step}"]`).scrollIntoView({ block: 'nearest' });
  player.scrollIntoView({ block: 'nearest' });
};
document.addEventListener('click', event => {
  const to = event.target.closest('[data-jump]') ?? event.target.closest('.credit [data-row]')?.querySelector('[data-jump]');
  if (to) location.hash = 'step-' + to.dataset.jump;
});
const follow = () => location.hash.startsWith('#step-') && explain(location.hash.slice(6));
addEventListener('hashchange', follow);
follow();
