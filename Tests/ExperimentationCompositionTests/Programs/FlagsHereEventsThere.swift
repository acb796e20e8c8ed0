import AdapterKit
import EvergageAdapter
import Experimentation
import ExperimentationComposition
import SigmaAdapter

func flagsHereEventsThere(_ store: ClientStore) async throws -> ExperimentationClient {
    let provider = try ComposedProvider(
        [
            .init(SigmaProvider(configuration: SigmaConfiguration(projectToken: "token"))),
            .init(EvergageProvider(configuration: EvergageConfiguration(account: "acme.us-1", dataset: "engage"))),
        ],
        decisions: .from("sigma"),
        exposures: ExposureEvent(name: "experiment_viewed {experiment} {variation}")
    )
    return try await ExperimentationClient(provider: provider, store: store)
}
