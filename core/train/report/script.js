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
  slider.addEventListener('input', () => { stop(); show(+slider.value); });
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
