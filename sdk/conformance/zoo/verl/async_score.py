import asyncio


async def compute_score(data_source, solution_str, ground_truth, extra_info=None, reward_router_address=None, reward_model_tokenizer=None):
    """verl's reward loop awaits it in an event loop with an executor."""
    loop = asyncio.get_running_loop()
    right = await loop.run_in_executor(None, lambda: ground_truth in solution_str)
    return {"score": float(right), "length": len(solution_str)}
