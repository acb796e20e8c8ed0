import ConformanceKit
import Experimentation
import FlagshipAdapter
import Testing

@Suite("An outbox that is mirrored in an application's cache follows the contract")
struct HitCacheContractTests {
    @Test(
        "it follows every rule of the outbox, whichever way it writes the cache",
        arguments: [FlagshipOptions.Tracking.Strategy.continuousCaching, .periodicCaching]
    )
    func contract(strategy: FlagshipOptions.Tracking.Strategy) async {
        let report = await OutboxStoreContract.run(
            over: StoreBench { size in
                let store = await FlagshipHitCacheStore(
                    InMemoryOutboxStore(maximumCount: size.maximumCount, maximumEventBytes: size.maximumEventBytes),
                    mirroredIn: FlagshipCaches(hits: OwnCache()),
                    strategy: strategy,
                    environmentID: Bench.environmentID,
                    owedTo: Destination(provider: "flagship", account: "one"),
                    time: SystemTime()
                )
                return try #require(store)
            }
        )
        #expect(report.failures == [])
        #expect(report.run == OutboxStoreContract.cases(features: [.limited]).map(\.id))
    }
}
