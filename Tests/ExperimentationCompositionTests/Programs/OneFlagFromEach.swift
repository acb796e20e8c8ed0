import Experimentation
import ExperimentationComposition
import FlagshipAdapter
import SigmaAdapter

func oneFlagFromEach(
    _ flagship: FlagshipConfiguration,
    _ sigma: SigmaConfiguration,
    _ store: ClientStore
) async throws -> ExperimentationClient {
    let provider = try ComposedProvider(
        [.init(FlagshipProvider(configuration: flagship)), .init(SigmaProvider(configuration: sigma))],
        decisions: DecisionTable(
            [.flags(["price"], from: "sigma"), .prefix("checkout_", from: "flagship", "sigma")],
            others: ["flagship"],
            fallback: .firstSuccessful
        )
    )
    return try await ExperimentationClient(provider: provider, store: store)
}
