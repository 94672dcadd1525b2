import dataclasses

import merit_plugin


@dataclasses.dataclass
class Options:
    greeting: str = "Hello"


class Greeter(merit_plugin.Policy):
    async def act(self, request):
        return merit_plugin.Decision(raw=f"{self.options.greeting}, {request.text}")


if __name__ == "__main__":
    merit_plugin.serve(Greeter, name="greeter", version="1.0.0", summary="Greets.", options=Options)
