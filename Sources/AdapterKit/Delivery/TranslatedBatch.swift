import Experimentation

/// The events of a batch in a vendor's form, without those that can't be translated.
///
/// An event without a form was accepted by an earlier version that supported more, or edited in the store; it is
/// rejected, and the rest is sent.
///
/// ```swift
/// let translated = TranslatedBatch(batch) { envelope throws(ExperimentationError) in try Wire.event(envelope) }
/// return await translated.deliver { part in await post(part.forms) }
/// ```
public struct TranslatedBatch<Form> {
    /// The events that have a form, in the order of the batch.
    public let events: [Envelope]
    /// The form of each.
    public let forms: [Form]
    private let places: [Int]
    private let rejections: DeliveryReport

    /// Translates a batch.
    ///
    /// - Parameters:
    ///   - batch: The events, oldest first.
    ///   - translate: Returns an event's form; throws if it has none, with the reason in the message.
    public init(_ batch: [Envelope], by translate: (Envelope) throws(ExperimentationError) -> Form) {
        var events: [Envelope] = []
        var forms: [Form] = []
        var places: [Int] = []
        var rejections = DeliveryReport(noAnswerTo: batch.count)
        for (place, envelope) in batch.enumerated() {
            do throws(ExperimentationError) {
                forms.append(try translate(envelope))
                events.append(envelope)
                places.append(place)
            } catch {
                rejections[place] = .rejected(error.message)
            }
        }
        (self.events, self.forms, self.places, self.rejections) = (events, forms, places, rejections)
    }

    /// Sends the events that have a form; sends nothing if there are none.
    ///
    /// - Parameter send: Sends the events and reports what became of each, in the order of ``events``.
    /// - Returns: What became of each event, in the order of the batch.
    public func deliver(_ send: (Self) async -> DeliveryReport) async -> DeliveryReport {
        guard !events.isEmpty else { return rejections }
        var report = rejections
        report.add(await send(self), at: places)
        return report
    }
}

extension TranslatedBatch: Sendable where Form: Sendable {}
