import Experimentation
import ExperimentationTesting
import GatewayWaiting
import Testing

@testable import GatewayServer

@Suite("A tenant's accounts, for operators")
struct StoreAccountsTests {
    private let time = ManualTime()
    private let isAway = Shared(false)
    private let reads = Shared(0)

    private func accounts(lifetime: Duration, stalls: Shared<Bool> = Shared(false)) -> StoreAccounts {
        let (time, isAway, reads) = (time, isAway, reads)
        return StoreAccounts(lifetime: lifetime, time: time, isAway: { isAway.value }) {
            reads.change { $0 += 1 }
            if stalls.value { try await time.sleep(for: .seconds(60)) }
            return StoreAccounts.Figures(ledger: Ledger(accepted: reads.value))
        }
    }

    @Test("the store is read once in their lifetime, however often they are requested")
    func lifetime() async {
        let accounts = accounts(lifetime: .seconds(5))
        for _ in 0..<10 { #expect(await accounts.figures.ledger.accepted == 1) }
        time.advance(by: .seconds(5))
        for _ in 0..<10 { #expect(await accounts.figures.ledger.accepted == 2) }
        let always = self.accounts(lifetime: .zero)
        #expect(await always.figures.ledger.accepted == 3)
        #expect(await always.figures.ledger.accepted == 4)
    }

    @Test("while the store is away it isn't asked, and the last figures are returned")
    func away() async {
        let accounts = accounts(lifetime: .seconds(5))
        isAway.change { $0 = true }
        #expect(await accounts.figures.ledger.accepted == 0)
        isAway.change { $0 = false }
        #expect(await accounts.figures.ledger.accepted == 1)
        isAway.change { $0 = true }
        time.advance(by: .seconds(60))
        for _ in 0..<5 { #expect(await accounts.figures.ledger.accepted == 1) }
        #expect(reads.value == 1)
    }

    @Test("one caller waits a second for a store that doesn't answer, and others get the last figures at once")
    func slow() async throws {
        let stalls = Shared(false)
        let accounts = accounts(lifetime: .seconds(5), stalls: stalls)
        #expect(await accounts.figures.ledger.accepted == 1)
        stalls.change { $0 = true }
        time.advance(by: .seconds(5))
        async let figures = accounts.figures
        let reads = reads
        try await eventually("the store is asked", within: .seconds(20)) { reads.value == 2 }
        #expect(await accounts.figures.ledger.accepted == 1)
        try await eventually("both waits have begun", within: .seconds(20)) { time.sleepers == 2 }
        time.advance(by: .seconds(1))
        #expect(await figures.ledger.accepted == 1)
        time.advance(by: .seconds(60))
    }
}
