import EngageAdapter
import Experimentation
import ExperimentationComposition
import FlagshipAdapter

func mailAndWarehouse(
    _ flagship: FlagshipConfiguration,
    _ engage: EngageConfiguration,
    _ store: ClientStore
) async throws -> ExperimentationClient {
    let file = FileConfiguration(path: "/var/lib/shop/events.jsonl")
    let provider = try ComposedProvider(
        [
            .init(FlagshipProvider(configuration: flagship)), .init(EngageProvider(configuration: engage)),
            .init(FileProvider(configuration: file)),
        ],
        events: [
            "goalCompleted": ["flagship", "engage", "file"], "custom": ["engage", "file"], "*": ["flagship", "file"],
        ]
    )
    return try await ExperimentationClient(provider: provider, store: store)
}
