package learn

// Stats describes one update. Means weigh every row by its weight and its
// number of epochs, at the parameters that the row's minibatch began with.
type Stats struct {
	Rows        int // rows of weight above 0
	Minibatches int // optimiser steps, over all epochs

	Loss              float64 // all terms with their coefficients
	PolicyLoss        float64 // −min(r·A, clipped r·A)
	ValueLoss         float64 // ½(v−G)², clipped if configured; before its coefficient
	Entropy           float64 // nats
	KL                float64 // k3 estimate against the policy that acted, nats
	ReferenceKL       float64 // k3 estimate against the KL term's reference, nats; 0 without the term
	ClipFraction      float64 // share of rows whose ratio was clipped away
	GradNorm          float64 // mean over minibatches, before clipping
	LearningRate      float64 // of this update
	AdvantageRMS      float64 // before scaling
	ExplainedVariance float64 // 1 − Var(G−v)/Var(G) of the values when the actions were taken; 0 without a critic
}
