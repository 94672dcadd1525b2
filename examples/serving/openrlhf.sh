# OpenRLHF: the server instead of a reward model; several, behind commas, take turns.
python3 -m openrlhf.cli.train_ppo_ray "$@" \
  --reward.remote_url "http://127.0.0.1:8700/v1/rewards/answer/get_reward?on_unscored=-1"
