import AdapterKit
import Experimentation
import FlagshipAdapter
import Foundation
import SigmaAdapter
import Testing
import Waiting

@Suite("Buckets equal the vendor's, and are even and independent")
struct BucketTests {
    /// A text with its Murmur hash and its MD5, computed by a program in another language.
    struct Vector: Decodable {
        let text: String
        let murmur: UInt32
        let md5: String

        init(from decoder: any Decoder) throws {
            var container = try decoder.unkeyedContainer()
            text = try container.decode(String.self)
            murmur = try container.decode(UInt32.self)
            md5 = try container.decode(String.self)
        }

        static func all() throws -> [Vector] {
            let file = packageRoot.appending(path: "Tests/PromiseTests/Fixtures/buckets.json")
            return try JSONDecoder().decode([Vector].self, from: Data(contentsOf: file))
        }
    }

    @Test("P41 both hashes equal another program's, for every length up to 64 bytes and beyond ASCII")
    func vectors() throws {
        let vectors = try Vector.all()
        #expect(vectors.count >= 1_000)
        #expect(Set(vectors.map(\.text.utf8.count)) == Set(0...64))
        for vector in vectors {
            #expect(FlagshipMurmur3.hash(vector.text) == vector.murmur, "\(vector.text.debugDescription)")
            let first = try #require(UInt64(vector.md5.prefix(16), radix: 16))
            let expected = Double(first) / 18_446_744_073_709_551_616 * 100
            let bucket = SigmaBucketing.bucket(of: Array(vector.text.utf8))
            #expect(abs(bucket - expected) < 1e-9, "\(vector.text.debugDescription)")
        }
    }

    /// Computes a user's bucket out of a hundred.
    enum Formula: String, CaseIterable, Sendable {
        case flagship, sigma

        func bucket(_ user: String, _ salt: String) -> Int {
            switch self {
            case .flagship: Int(FlagshipMurmur3.hash(salt + user) % 100)
            case .sigma: Int(SigmaBucketing.inferred.position(in: .group, splitID: user, salt: salt))
            }
        }
    }

    /// The probability of a chi-square sum at least as large (Wilson–Hilferty approximation).
    private func chance(_ sum: Double, _ degrees: Double) -> Double {
        let spread = 2 / (9 * degrees)
        let z = (pow(sum / degrees, 1.0 / 3) - (1 - spread)) / spread.squareRoot()
        return 0.5 * erfc(z / 2.0.squareRoot())
    }

    @Test("P42 users are spread evenly over the buckets of every experiment", arguments: Formula.allCases)
    func even(_ formula: Formula) async {
        let users = isSoak ? 100_000 : 5_000
        var unlikely = 0
        for salt in 0..<20 {
            var counts = [Int](repeating: 0, count: 100)
            for user in 0..<users {
                counts[formula.bucket("user-\(user)", "experiment-\(salt)")] += 1
                if user % 256 == 0 { await Task.yield() }
            }
            let mean = Double(users) / 100
            let chance = chance(counts.reduce(0) { $0 + pow(Double($1) - mean, 2) / mean }, 99)
            #expect(chance >= 1e-5, "salt \(salt): \(chance)")
            if chance < 0.01 { unlikely += 1 }
        }
        #expect(unlikely <= 2)
    }

    @Test(
        "P42 a user's bucket in one experiment says nothing about another",
        arguments: Formula.allCases
    )
    func independent(_ formula: Formula) async {
        let users = isSoak ? 100_000 : 5_000
        var unlikely = 0
        for pair in 0..<20 {
            var counts = [Int](repeating: 0, count: 100)
            for user in 0..<users {
                let one = formula.bucket("user-\(user)", "one-\(pair)") / 10
                let other = formula.bucket("user-\(user)", "other-\(pair)") / 10
                counts[one * 10 + other] += 1
                if user % 256 == 0 { await Task.yield() }
            }
            var sum = 0.0
            for one in 0..<10 {
                for other in 0..<10 {
                    let row = (0..<10).reduce(0) { $0 + counts[one * 10 + $1] }
                    let column = (0..<10).reduce(0) { $0 + counts[$1 * 10 + other] }
                    let expected = Double(row) * Double(column) / Double(users)
                    sum += pow(Double(counts[one * 10 + other]) - expected, 2) / expected
                }
            }
            let chance = chance(sum, 81)
            #expect(chance >= 1e-5, "pair \(pair): \(chance)")
            if chance < 0.01 { unlikely += 1 }
        }
        #expect(unlikely <= 2)
    }
}
