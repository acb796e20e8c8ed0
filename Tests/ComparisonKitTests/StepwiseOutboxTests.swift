import ConformanceKit
import Experimentation
import Testing

@testable import ComparisonKit

@Suite("An outbox that is filled step by step follows the contract")
struct StepwiseOutboxTests {
    @Test("it follows every rule of the store in memory, between steps")
    func contract() async {
        let report = await OutboxStoreContract.run(
            over: StoreBench { size in
                StepwiseOutbox(
                    InMemoryOutboxStore(
                        maximumCount: size.maximumCount,
                        maximumEventBytes: size.maximumEventBytes
                    )
                )
            }
        )
        #expect(report.failures == [])
        #expect(report.run == OutboxStoreContract.cases(features: [.limited]).map(\.id))
    }
}
