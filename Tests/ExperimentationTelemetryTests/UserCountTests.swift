import Testing
import Waiting

@testable import ExperimentationTelemetry

@Suite("Unique users")
struct UserCountTests {
    /// Returns the estimate's relative error after a number of users, each seen twice.
    private func error(after count: Int, named prefix: String) -> Double {
        var users = UserCount()
        for _ in 0..<2 {
            for number in 0..<count { users.insert(UserCount.number(of: "\(prefix)\(number)")) }
        }
        return users.estimate / Double(count) - 1
    }

    @Test(
        "an estimate is within three standard errors of the exact count, from one user to half a million",
        arguments: [1, 10, 100, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000]
    )
    func closeToExact(count: Int) async {
        let miss = await besideThePool { error(after: count, named: "user-") }
        #expect(abs(miss) <= 3 * 0.0135)
    }

    @Test("over a hundred populations the mean error is zero, and its spread as in theory")
    func spread() async {
        for count in [500, 20_000] {
            let errors = await besideThePool { (0..<100).map { error(after: count, named: "population-\($0)-") } }
            let mean = errors.reduce(0, +) / 100
            let spread = (errors.map { $0 * $0 }.reduce(0, +) / 100).squareRoot()
            #expect(abs(mean) < 0.005, "\(count) users: the mean error is \(mean)")
            #expect(spread < 0.0165, "\(count) users: the spread is \(spread)")
        }
    }

    @Test("the count takes at most two kilobytes, however many users were counted")
    func memory() {
        var users = UserCount()
        #expect(users.bytes <= 2_048)
        for number in 0..<300_000 { users.insert(UserCount.number(of: "u\(number)")) }
        #expect(users.bytes <= 2_048)
    }

    @Test("registers with a raised base equal plain registers")
    func registersAreRight() {
        var users = UserCount()
        var plain = [UInt8](repeating: 0, count: UserCount.registers)
        for number in 0..<200_000 {
            let hash = UserCount.number(of: "id\(number)")
            users.insert(hash)
            let register = Int(((hash >> 32) * UInt64(UserCount.registers)) >> 32)
            plain[register] = max(plain[register], UInt8(UInt32(truncatingIfNeeded: hash).leadingZeroBitCount + 1))
        }
        #expect(users.values == plain)
    }
}
