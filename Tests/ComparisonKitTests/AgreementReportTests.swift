import ConformanceKit
import Experimentation
import Foundation
import Testing

@testable import ComparisonKit

@Suite("Reports of an agreement")
struct AgreementReportTests {
    private static func experiment(_ ratio: RatioTest?) -> Agreement.Experiment {
        Agreement.Experiment(
            id: "prices",
            name: "Prices",
            advice: .finishFirst,
            reason: "half of its users would change",
            pairedBy: .names,
            before: ["bare", "short"],
            after: ["none", "brief"],
            matrix: [[5, 4, 0], [3, 7, 0], [0, 0, 2]],
            imported: [[9, 0, 0], [0, 10, 0], [0, 0, 2]],
            users: 19,
            changed: 7,
            changedImported: 0,
            joined: 0,
            ratioBefore: ratio,
            ratioAfter: nil,
            ratioImported: nil
        )
    }

    private static let agreement = Agreement(
        from: "sigma",
        to: "flagship",
        users: 21,
        unanswered: 0,
        unreadable: 0,
        heldOutBefore: 0,
        heldOutAfter: 0,
        keepsAssignments: true,
        experiments: [experiment(RatioTest(observed: [9, 10], weights: [1, 1]))],
        exposures: [
            ExposureRatio(
                vendor: "flagship",
                profile: .calm,
                experiment: "prices",
                variations: ["none", "brief"],
                seen: [2, 1],
                arrived: [2, 1]
            )
        ]
    )

    private static func text(_ format: ComparisonReport.Format) -> String {
        AgreementReport(agreement).text(as: format)
    }

    @Test(
        "expected counts below ten have a decimal, and too few users to test are named",
        arguments: [ComparisonReport.Format.text, .markdown, .html]
    )
    func expected(format: ComparisonReport.Format) {
        let text = Self.text(format)
        #expect(text.contains("9.5 : 9.5"))
        #expect(text.matches(of: /too few to tell/).count == 3)
    }
}
