/* Numbers at the border between Integer and Float: functions that take the place of those of the same names in mruby's
 * core/bigint.c, as bigint.c does. */

static mrb_value bint_norm(mrb_state *mrb, struct RBigint *b);

mrb_value
mrb_bint_new_float(mrb_state *mrb, mrb_float x)
{
  int exponent;
  mrb_float part = frexp(x < 0 ? -x : x, &exponent);
  struct RBigint *b = bint_new(mrb);

  if (exponent <= 0) return mrb_fixnum_value(0);
  /* 53 bits are all that a Float has. */
  mrb_int head = (mrb_int)ldexp(part, 53);
  mpz_set_int(mrb, &b->mp, head);
  if (exponent > 53) mpz_mul_2exp(mrb, &b->mp, &b->mp, exponent - 53);
  else mpz_div_2exp(mrb, &b->mp, &b->mp, 53 - exponent);
  if (x < 0) b->mp.sn = -b->mp.sn;
  return bint_norm(mrb, b);
}

/* The upper 64 bits, of which the last also stands for all that is below: so it is rounded once, to even. */
static mrb_float
mpz_as_float(mpz_t *x, int *exponent)
{
  size_t bits = mpz_bit_count(x), low = bits > 64 ? bits - 64 : 0;
  uint64_t head = 0;

  for (size_t i = bits; i-- > low;) head = head << 1 | (x->p[i / DIG_SIZE] >> (i % DIG_SIZE) & 1);
  for (size_t i = 0; i < low; i++) {
    if (x->p[i / DIG_SIZE] >> (i % DIG_SIZE) & 1) {
      head |= 1;
      break;
    }
  }
  *exponent = (int)low;
  return x->sn < 0 ? -(mrb_float)head : (mrb_float)head;
}

mrb_float
mrb_bint_as_float(mrb_state *mrb, mrb_value self)
{
  int exponent;
  mrb_float head = mpz_as_float(&RBIGINT(self)->mp, &exponent);
  return ldexp(head, exponent);
}

/* x / y, rounded once: the quotient has 65 bits or more, and its last stands for what is left of the division. */
mrb_float
fg_bint_fdiv(mrb_state *mrb, mrb_value x, mrb_value y)
{
  struct RBigint *a = RBIGINT(mrb_as_bint(mrb, x)), *b = RBIGINT(mrb_as_bint(mrb, y));
  struct RBigint *up = bint_new(mrb), *q = bint_new(mrb), *r = bint_new(mrb);
  mrb_int shift = (mrb_int)mpz_bit_count(&b->mp) - (mrb_int)mpz_bit_count(&a->mp) + 66;
  int exponent;

  if (shift < 0) shift = 0;
  mpz_mul_2exp(mrb, &up->mp, &a->mp, shift);
  udiv(mrb, &q->mp, &r->mp, &up->mp, &b->mp);
  if (!uzero(&r->mp)) q->mp.p[0] |= 1;
  q->mp.sn = a->mp.sn * b->mp.sn;
  mrb_float head = mpz_as_float(&q->mp, &exponent);
  return ldexp(head, exponent - (int)shift);
}

/* -3 where it is compared with NaN. */
mrb_int
mrb_bint_cmp(mrb_state *mrb, mrb_value x, mrb_value y)
{
  mpz_t *one = &RBIGINT(x)->mp;

  if (mrb_float_p(y)) {
    mrb_float number = mrb_float(y);
    if (isnan(number)) return -3;
    if (isinf(number)) return number > 0 ? -1 : 1;
    mrb_value whole = mrb_bint_new_float(mrb, number);
    /* The fraction of a Float that is large enough to matter is nothing. */
    return mrb_bigint_p(whole) ? mpz_cmp(mrb, one, &RBIGINT(whole)->mp) : one->sn;
  }
  if (mrb_bigint_p(y)) return mpz_cmp(mrb, one, &RBIGINT(y)->mp);
  if (!mrb_integer_p(y)) return -2;
  mrb_int mine, other = mrb_integer(y);
  if (!mpz_get_int(one, &mine)) return one->sn;
  return mine < other ? -1 : mine > other;
}

mrb_int
fg_bint_length(mrb_state *mrb, mrb_value self)
{
  mpz_t *x = &RBIGINT(self)->mp;
  size_t bits = mpz_bit_count(x);
  if (x->sn > 0 || bits == 0) return (mrb_int)bits;
  /* -(2 ** n) has one bit less. */
  size_t low = 0;
  while ((x->p[low / DIG_SIZE] >> (low % DIG_SIZE) & 1) == 0) low++;
  return (mrb_int)(low + 1 == bits ? bits - 1 : bits);
}
