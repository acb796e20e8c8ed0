import ConformanceKit
import Experimentation
import Testing

@testable import ComparisonKit

@Suite("An outbox that is filled step by step keeps the contract")
struct StepwiseOutboxTests {
    @Test("every rule that a store in memory keeps, between steps")
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
